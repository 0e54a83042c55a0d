#!/bin/bash
#SBATCH --gres=gpu:8
srun python -m sglang.launch_server --model-path $M --speculative-num-steps 3
